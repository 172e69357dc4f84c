/** How much of bodies is held together, and who is turned away for it. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { Bodies, Refused } from "../../src/http/bodies.ts";

const kib = 1 << 10;
const limits = { bodyBytesMax: 1_000 * kib, bodiesBytesMax: 1_500 * kib };

class Sender {
  readonly #payload = new PassThrough();
  readonly #bodies: Bodies;
  readonly #request: { headers: Record<string, string> };
  /** The length of the body, or the status of its refusal. */
  readonly told: Promise<string>;

  /** @param announced  its content length; without one it comes in chunks */
  constructor(bodies: Bodies, announced?: number, hasPlace = true) {
    this.#bodies = bodies;
    this.#request = { headers: announced === undefined ? {} : { "content-length": String(announced) } };
    this.told = bodies.read(this.#request, this.#payload, hasPlace).then(
      (body) => `${body.length / kib} KiB`,
      (fault) => (fault instanceof Refused ? `${fault.statusCode} ${fault.departure}` : String(fault)),
    );
  }

  async send(bytes: number): Promise<this> {
    this.#payload.write(Buffer.alloc(bytes, "x"));
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return this;
  }

  end(): Promise<string> {
    this.#payload.end();
    return this.told;
  }

  leave(): void {
    this.#bodies.release(this.#request);
  }
}

test("one that would be too much beside the others is refused before it is read, and may come once they are answered", async () => {
  const bodies = new Bodies(limits);
  const first = await new Sender(bodies, 900 * kib).send(900 * kib);
  expect(await first.end()).toBe("900 KiB");
  expect(await new Sender(bodies, 601 * kib).told).toBe("503 tooManyBytes");
  expect(await (await new Sender(bodies, 600 * kib).send(600 * kib)).end()).toBe("600 KiB");
  first.leave();
  expect(await (await new Sender(bodies, 900 * kib).send(900 * kib)).end()).toBe("900 KiB");
});

test("whoever goes over the bound while bodies come is refused, and the others are read to their end", async () => {
  const bodies = new Bodies(limits);
  const [one, other] = [new Sender(bodies), new Sender(bodies)];
  await one.send(800 * kib);
  await other.send(700 * kib);
  await other.send(kib);
  expect(await other.told).toBe("503 tooManyBytes");
  other.leave();
  await one.send(200 * kib);
  expect(await one.end()).toBe("1000 KiB");
});

test("what is only announced counts for nothing", async () => {
  const bodies = new Bodies(limits);
  for (let count = 0; count < 10; count++) new Sender(bodies, 1_000 * kib);
  expect(await (await new Sender(bodies, 1_000 * kib).send(1_000 * kib)).end()).toBe("1000 KiB");
});

test("one that is alone may be larger than all together", async () => {
  const bodies = new Bodies({ ...limits, bodiesBytesMax: 10 });
  const alone = await new Sender(bodies, 1_000 * kib).send(1_000 * kib);
  expect(await alone.end()).toBe("1000 KiB");
  expect(await new Sender(bodies, 65 * kib).told).toBe("503 tooManyBytes");
});

test("small bodies pass where their number is bounded, and only there", async () => {
  const bodies = new Bodies({ ...limits, bodiesBytesMax: 10 });
  await new Sender(bodies).send(100 * kib);
  expect(await (await new Sender(bodies, 64 * kib).send(64 * kib)).end()).toBe("64 KiB");
  expect(await new Sender(bodies, 64 * kib, false).told).toBe("503 tooManyBytes");
  const grows = await new Sender(bodies).send(64 * kib);
  await grows.send(1);
  expect(await grows.told).toBe("503 tooManyBytes");
});

test("a body is as long as one may be, and not longer, announced or not", async () => {
  const bodies = new Bodies(limits);
  expect(await new Sender(bodies, limits.bodyBytesMax + 1).told).toBe("413 tooLarge");
  const untold = await new Sender(bodies).send(limits.bodyBytesMax);
  await untold.send(1);
  expect(await untold.told).toBe("413 tooLarge");
});
