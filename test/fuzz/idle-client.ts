/** Opens so many connections, tells how many stand, and holds them until it is ended: a process apart, for each has only so many files. */
import { connect } from "node:net";

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
const atOnce = 200;
let open = 0;

for (let begun = 0; begun < count; begun += atOnce) {
  const batch = Array.from({ length: Math.min(atOnce, count - begun) }, async () => {
    const socket = connect(port, "127.0.0.1");
    await new Promise<void>((resolve) => {
      socket.once("connect", () => {
        open++;
        resolve();
      });
      socket.once("error", () => resolve());
    });
  });
  await Promise.all(batch);
}
process.send?.(open);
