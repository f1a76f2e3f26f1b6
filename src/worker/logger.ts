/** pino as Temporal's logger: one JSON line per entry, with the ids of task, session, turn and call. */
import type { LogLevel, LogMetadata, Logger } from '@temporalio/worker';
import { pino, type Logger as Pino } from 'pino';

type PinoLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';
const LEVELS: Record<LogLevel, PinoLevel> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Metadata that says nothing to the reader of a log, or holds what must not stand there. */
const LEFT_OUT = new Set(['taskToken', 'sdkComponent', 'namespace', 'isLocal', 'callsDuringReplay']);
/** The workflow id is the task id everywhere else. */
const RENAMED: Record<string, string> = {
  workflowId: 'task_id',
  runId: 'run_id',
  activityId: 'activity_id',
  activityType: 'activity_type',
  attempt: 'attempt',
  taskQueue: 'task_queue',
  workflowType: 'workflow_type',
};

export function createLogger(level: string): Pino {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime });
}

/** Wraps a pino logger for Temporal's runtime. */
export function temporalLogger(log: Pino): Logger {
  const write = (level: LogLevel, message: string, meta?: LogMetadata): void => {
    log[LEVELS[level]](fields(meta), message);
  };
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}

function fields(meta: LogMetadata | undefined): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta ?? {})) {
    if (LEFT_OUT.has(key) || value === undefined) continue;
    // An error's text and stack may hold anything: its class is enough here, Temporal has the failure itself.
    const shown: unknown = value instanceof Error ? value.name : value;
    result[RENAMED[key] ?? key] = typeof shown === 'bigint' ? Number(shown) : shown;
  }
  return result;
}
