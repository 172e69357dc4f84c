/** A TCP link on which what the server says takes its time; whatever is spoken over it, TLS too. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface SlowLink {
  /** https://127.0.0.1:port, in the place of the server's. */
  readonly server: string;
  /** Breaks every connection that stands; new ones are taken. */
  cut(): void;
  close(): void;
}

/** @param server  https://host:port */
export async function startSlowLink(server: string, delayMs: number): Promise<SlowLink> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // 'close' follows.
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("data", (bytes) => upstream.write(bytes));
    client.on("close", () => upstream.destroy());
    // Timers of one delay fire in the order in which they were set: the last words come before the end.
    upstream.on("data", (bytes) => setTimeout(() => client.write(bytes), delayMs));
    upstream.on("close", () => setTimeout(() => client.end(), delayMs));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    cut,
    server: `https://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    close: () => {
      listener.close();
      cut();
    },
  };
}
