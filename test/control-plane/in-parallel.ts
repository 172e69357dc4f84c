/** As many as the transport has connections: what is sent goes out at once. */
const width = 16;

/** Works on all items, many at a time, in their order. @throws what any of the work throws */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = Iterator.from(items);
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
