/** Puts a function in front of a method. */

// biome-ignore lint/suspicious/noExplicitAny: whatever the method takes and gives
type Any = any;
type Method = (...args: Any[]) => Any;

/** @param make  given the method, bound to its object, returns what is called instead. Returns what undoes it. */
export function inFront<T extends object>(
  target: T,
  name: keyof T & string,
  make: (own: Method, self: Any) => Method,
): () => void {
  const had = Object.hasOwn(target, name);
  const before = (target as Record<string, Any>)[name] as Method;
  Object.defineProperty(target, name, {
    configurable: true,
    writable: true,
    value(this: Any, ...args: Any[]) {
      return make(before.bind(this), this)(...args);
    },
  });
  return () => {
    if (had) Object.defineProperty(target, name, { configurable: true, writable: true, value: before });
    else delete (target as Record<string, Any>)[name];
  };
}

export const nothing = (): Method => () => undefined;
