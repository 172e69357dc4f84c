/** The log: one JSON line an event, to a stream handed in, with a few well-known keys. */
import { type DestinationStream, pino } from "pino";
import type { Log as RoomLog } from "./runtime/log.ts";
import type { Runtime } from "./runtime/runtime.ts";

/** What lines may carry. One vocabulary, so that a search for a Pod finds every line about it. */
export interface LogFields {
  /** "namespace/name". */
  readonly pod?: string;
  readonly podUid?: string;
  readonly node?: string;
  /** "namespace/name". */
  readonly claim?: string;
  readonly volume?: string;
  readonly kind?: string;
  readonly key?: string;
  readonly verb?: string;
  readonly outcome?: string;
  readonly reason?: string;
  readonly error?: string;
  /** Something thrown that nobody expected. */
  readonly err?: unknown;
  readonly durationMs?: number;
  /** Nodes asked about. */
  readonly nodes?: number;
  readonly feasible?: number;
  /** Refused nodes by reason. */
  readonly refused?: Readonly<Record<string, number>>;
  /** Verdicts by node: at debug only. */
  readonly perNode?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** Where the way to the cluster was found. */
  readonly source?: string;
  readonly version?: string;
}

/** The log of the server and the commands; the other rooms write to the same one through their own, narrower words. */
export interface Log extends RoomLog {
  /** Whether debug lines are written: what they cost to make is then worth paying. */
  readonly isDebug: boolean;
}

export interface LogOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  /** Written synchronously: a line must not be lost with the process that wrote it. */
  readonly stream: DestinationStream;
  readonly runtime: Runtime;
}

export function createLog({ level, stream, runtime }: LogOptions): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(runtime.wallTime()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    isDebug: level === "debug",
  };
}
