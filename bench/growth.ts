/** Whether memory grows: what is in use after a collection, and the line through many such looks. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The heap and what lies outside of it, buffers above all. */
export function bytesInUse(): number {
  // What was only just let go is found by the second look.
  for (let count = 0; count < 2; count++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Of the line that lies nearest to the points, by least squares. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (of: 0 | 1): number => points.reduce((sum, point) => sum + point[of], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let product = 0;
  let square = 0;
  for (const [x, y] of points) {
    product += (x - meanX) * (y - meanY);
    square += (x - meanX) ** 2;
  }
  return product / square;
}
