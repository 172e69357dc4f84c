/**
 * One address for several servers, as a Service has it: each new connection goes to one that is ready, in turn, and ends at once
 * where none is. What stands stays where it is, also when the server behind it is ready no more.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Backend {
  readonly port: number;
  /** Whether it is ready: asked each second. */
  readonly readyUrl: string;
}

export interface Balancer {
  readonly port: number;
  close(): void;
}

const periodMs = 1_000;
/** As a readiness probe's `failureThreshold`. */
const failuresMax = 3;

export async function startBalancer(backends: readonly Backend[]): Promise<Balancer> {
  const failures = new Map(backends.map((backend) => [backend, failuresMax]));
  const probe = async (backend: Backend): Promise<void> => {
    const isReady = await fetch(backend.readyUrl, { signal: AbortSignal.timeout(periodMs) }).then(
      ({ status }) => status === 200,
      () => false,
    );
    failures.set(backend, isReady ? 0 : (failures.get(backend) ?? 0) + 1);
  };
  const probing = setInterval(() => void Promise.all(backends.map(probe)), periodMs);
  const sockets = new Set<Socket>();
  let turn = 0;
  const listener = createServer((client) => {
    const ready = backends.filter((backend) => (failures.get(backend) ?? 0) < failuresMax);
    const backend = ready[turn++ % ready.length];
    if (!backend) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(backend.port, "127.0.0.1");
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    close: () => {
      clearInterval(probing);
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
