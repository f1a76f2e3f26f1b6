/** Configuration of a worker from the environment. A bad value is one line that names the variable. */
import { msToNumber } from '@temporalio/common/lib/time.js';
import { z } from 'zod';

import { DEFAULT_TASK_QUEUE } from '../protocol/task.ts';

/** The environment does not hold what a worker needs. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A duration in ms. */
const anyDuration = (example: string, maxMs = Infinity): z.ZodType<number, string> =>
  z.string().transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== null && ms <= maxMs) return ms;
    context.addIssue({
      code: 'custom',
      message: `expected a duration such as "${example}"${maxMs === Infinity ? '' : `, at most ${maxMs / 60_000} minutes`}, got "${text}"`,
    });
    return z.NEVER;
  });

const duration = (fallback: string, maxMs?: number): z.ZodType<number> =>
  anyDuration(fallback, maxMs).prefault(fallback);

const whole = (fallback: number, min: number, max = Number.MAX_SAFE_INTEGER): z.ZodType<number> =>
  z.coerce
    .number({ error: 'expected a whole number' })
    .int('expected a whole number')
    .min(min, `expected at least ${min}`)
    .max(max, `expected at most ${max}`)
    .default(fallback);

const flag = (fallback: 'true' | 'false'): z.ZodType<boolean> =>
  z
    .enum(['true', 'false'], { error: 'expected true or false' })
    .default(fallback)
    .transform((text) => text === 'true');

const schema = z.object({
  OPENAI_API_KEY: z
    .string({ error: 'needed: the key of the Agents API (any text for the local one)' })
    .min(1, 'is empty'),
  OPENAI_BASE_URL: z.url({ protocol: /^https?$/, error: 'expected an http or https URL' }).optional(),
  HOLDFAST_TASK_QUEUE: z.string().min(1, 'is empty').default(DEFAULT_TASK_QUEUE),
  HOLDFAST_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'expected trace, debug, info, warn, error or silent',
    })
    .default('info'),
  /** A worker that is silent for this long is taken for lost. */
  HOLDFAST_HEARTBEAT_TIMEOUT: duration('10s'),
  /** An event stream without events for this long is opened anew. */
  HOLDFAST_STREAM_SILENCE: duration('60s'),
  /** How long one follower activity runs at most. */
  HOLDFAST_FOLLOW_LIMIT: duration('1h', 2 * 60 * 60_000),
  /** How long a cancelled task waits for the service and for its tools. */
  HOLDFAST_CANCEL_WAIT: duration('30s'),
  /** How long running tools may go on after SIGTERM. */
  HOLDFAST_SHUTDOWN_GRACE: duration('30s'),
  /** How long a person is waited for who must say how a call ended; without it for ever. */
  HOLDFAST_UNKNOWN_LIMIT: anyDuration('24h').optional(),
  HOLDFAST_MAX_OUTPUT_BYTES: whole(256 * 1024, 1024, 512 * 1024),
  /** Followers are many and idle: each task that the service works on holds one slot. */
  HOLDFAST_MAX_ACTIVITIES: whole(2000, 1),
  HOLDFAST_CONTINUE_AFTER_EVENTS: whole(10_000, 50),
  HOLDFAST_SEARCH_ATTRIBUTES: z.enum(['auto', 'off'], { error: 'expected auto or off' }).default('auto'),
  HOLDFAST_LOG_TOOL_ERRORS: flag('false'),
  /** A workflow bundle made by `bundleWorkflowCode`; without it the worker makes one when it starts. */
  HOLDFAST_WORKFLOW_BUNDLE: z.string().optional(),
  /** For crash tests: see `faults.ts`. */
  HOLDFAST_FAULT: z.string().optional(),
});

export interface WorkerConfig {
  apiKey: string;
  baseURL: string | undefined;
  taskQueue: string;
  logLevel: string;
  heartbeatTimeoutMs: number;
  streamSilenceMs: number;
  followLimitMs: number;
  cancelWaitMs: number;
  shutdownGraceMs: number;
  unknownLimitMs: number | null;
  maxOutputBytes: number;
  maxActivities: number;
  continueAfterEvents: number;
  searchAttributes: 'auto' | 'off';
  logToolErrors: boolean;
  workflowBundle: string | undefined;
  fault: string | undefined;
}

/** Reads the configuration. Throws ConfigError with one line per bad variable. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): WorkerConfig {
  const parsed = schema.safeParse(
    Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
  );
  if (!parsed.success) {
    // The value itself is shown by the messages above only where it cannot be a secret.
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
    );
  }
  const { data } = parsed;
  return {
    apiKey: data.OPENAI_API_KEY,
    baseURL: data.OPENAI_BASE_URL,
    taskQueue: data.HOLDFAST_TASK_QUEUE,
    logLevel: data.HOLDFAST_LOG_LEVEL,
    heartbeatTimeoutMs: data.HOLDFAST_HEARTBEAT_TIMEOUT,
    streamSilenceMs: data.HOLDFAST_STREAM_SILENCE,
    followLimitMs: data.HOLDFAST_FOLLOW_LIMIT,
    cancelWaitMs: data.HOLDFAST_CANCEL_WAIT,
    shutdownGraceMs: data.HOLDFAST_SHUTDOWN_GRACE,
    unknownLimitMs: data.HOLDFAST_UNKNOWN_LIMIT ?? null,
    maxOutputBytes: data.HOLDFAST_MAX_OUTPUT_BYTES,
    maxActivities: data.HOLDFAST_MAX_ACTIVITIES,
    continueAfterEvents: data.HOLDFAST_CONTINUE_AFTER_EVENTS,
    searchAttributes: data.HOLDFAST_SEARCH_ATTRIBUTES,
    logToolErrors: data.HOLDFAST_LOG_TOOL_ERRORS,
    workflowBundle: data.HOLDFAST_WORKFLOW_BUNDLE,
    fault: data.HOLDFAST_FAULT,
  };
}

function parseDuration(text: string): number | null {
  try {
    const ms = msToNumber(text as Parameters<typeof msToNumber>[0]);
    return Number.isFinite(ms) && ms > 0 ? ms : null;
  } catch {
    return null;
  }
}
