/** The connections of one listener: how many, over which TLS, and who is at the other end of each. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { SecureContextOptions, TlsOptions, Server as TlsServer } from "node:tls";
import type { Milliseconds, Peer } from "../runtime/runtime.ts";
import { Peers } from "./peers.ts";
import type { TlsMaterial } from "./tls-files.ts";

/**
 * kube-scheduler reads its certificate's files again for each new connection, and keeps one that it uses for ever. Longer than its
 * clients keep one that they do not use (90 s): so each is opened anew before its certificate ends.
 */
const partBeforeMs: Milliseconds = 120_000;

export class Connections {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #peers = new Peers();
  /** TLS connections whose callers were believed by authorities that count no more. */
  readonly #outdated = new WeakSet<Socket>();
  readonly #secured = new Set<Socket>();
  #authorities: string | undefined;

  constructor(
    server: Server,
    connectionsMax: number,
    tls: TlsMaterial | undefined,
    onTurnedAway?: (cause: "tooMany" | "handshake") => void,
  ) {
    this.#server = server;
    this.#authorities = tls?.ca;
    server.maxConnections = connectionsMax;
    server.on("drop", () => onTurnedAway?.("tooMany"));
    server.on("connection", (socket: Socket) => this.#keep(this.#open, socket));
    if (!tls) return;
    server.on("secureConnection", (socket: Socket) => this.#keep(this.#secured, socket));
    server.on("tlsClientError", () => onTurnedAway?.("handshake"));
  }

  /** Whoever has no good certificate may still say so in HTTP, and is told why; what he may do is for `admit` to say. */
  static optionsOf(tls: TlsMaterial): TlsOptions {
    return { ...contextOf(tls), ...(tls.ca !== undefined && { requestCert: true, rejectUnauthorized: false }) };
  }

  /** Undefined where nobody is asked for a certificate. */
  peerOf(socket: Socket): Peer | undefined {
    return this.#authorities === undefined ? undefined : this.#peers.of(socket);
  }

  renew(tls: TlsMaterial): void {
    (this.#server as unknown as TlsServer).setSecureContext(contextOf(tls));
    if (tls.ca === this.#authorities) return;
    this.#authorities = tls.ca;
    for (const socket of this.#secured) this.#outdated.add(socket);
  }

  /** Whether it is to end with its next reply, for its caller to come with what counts now. */
  isOutdated(socket: Socket): boolean {
    if (this.#outdated.has(socket)) return true;
    const peer = this.peerOf(socket);
    if (!peer || (peer.problem !== undefined && peer.problem !== "expired")) return false;
    return peer.expiresAtMs - Date.now() < partBeforeMs;
  }

  /** Those on which TLS does not stand yet too: HTTP knows nothing of them. */
  destroyAll(): void {
    this.#server.closeAllConnections();
    for (const socket of this.#open) socket.destroy();
  }

  #keep(set: Set<Socket>, socket: Socket): void {
    set.add(socket);
    socket.once("close", () => set.delete(socket));
  }
}

function contextOf({ cert, key, ca }: TlsMaterial): SecureContextOptions {
  return { cert, key, ...(ca !== undefined && { ca }), minVersion: "TLSv1.2" };
}
