/** Who is at the other end of each TLS connection, worked out once for each. */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Peer } from "../runtime/runtime.ts";

const stranger: Peer = { problem: "none", subject: "", expiresAtMs: 0, isNamed: () => false };
const subjectLengthMax = 200;

/** Not for wildcards: a certificate names whoever holds it. */
const exactly = { subject: "never", wildcards: false, partialWildcards: false } as const;

export class Peers {
  readonly #known = new WeakMap<Socket, Peer>();

  of(socket: Socket): Peer {
    const known = this.#known.get(socket);
    if (known) return known;
    const peer = peerOf(socket as TLSSocket);
    this.#known.set(socket, peer);
    return peer;
  }
}

function peerOf(socket: TLSSocket): Peer {
  const certificate = socket.getPeerX509Certificate();
  // Whatever `authorized` says, e.g. of a session that is resumed: without a certificate there is nobody to name.
  if (!certificate) return stranger;
  const { authorizationError } = socket;
  // Typed as an Error, and a code.
  const isExpired = String(authorizationError) === "CERT_HAS_EXPIRED";
  const commonName = commonNameOf(certificate);
  return {
    ...(!socket.authorized && { problem: isExpired ? "expired" : "untrusted" }),
    subject: certificate.subject.replaceAll("\n", ",").slice(0, subjectLengthMax),
    expiresAtMs: Date.parse(certificate.validTo),
    isNamed: (name) => name === commonName || certificate.checkHost(name, exactly) !== undefined,
  };
}

/** Undefined where there are several: nobody could say which one counts. */
function commonNameOf(certificate: X509Certificate): string | undefined {
  const { CN } = certificate.toLegacyObject().subject as { CN?: string | readonly string[] };
  return typeof CN === "string" ? CN : undefined;
}
