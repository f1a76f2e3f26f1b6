/** Checks scripts and steps that come from outside: files, `script:` messages, code. */
import { isObject, type RawObject } from './wire.ts';
import { STEP_KINDS, type AgentScript, type Step, type StepKind } from './script.ts';

/** A script that does not follow the format; the message names the field. */
export class ScriptError extends Error {
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.name = 'ScriptError';
  }
}

type Rule = (value: unknown, path: string) => void;

const aString: Rule = (value, path) => {
  if (typeof value !== 'string') throw new ScriptError(path, 'must be a string');
};
const aName: Rule = (value, path) => {
  if (typeof value !== 'string' || value === '') throw new ScriptError(path, 'must be a non-empty string');
};
const aTime: Rule = (value, path) => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new ScriptError(path, 'must be a number of milliseconds, 0 or more');
  }
};
const aFlag: Rule = (value, path) => {
  if (typeof value !== 'boolean') throw new ScriptError(path, 'must be true or false');
};
const anObject: Rule = (value, path) => {
  if (!isObject(value)) throw new ScriptError(path, 'must be an object');
};
const anything: Rule = () => undefined;

function choice(...options: readonly (string | true)[]): Rule {
  return (value, path) => {
    if (!options.some((option) => option === value)) {
      throw new ScriptError(path, `must be one of ${options.map((o) => JSON.stringify(o)).join(', ')}`);
    }
  };
}

function shape(needed: Record<string, Rule>, optional: Record<string, Rule> = {}): Rule {
  return (value, path) => {
    if (!isObject(value)) throw new ScriptError(path, 'must be an object');
    for (const key of Object.keys(needed)) {
      if (value[key] === undefined) throw new ScriptError(path, `'${key}' is missing`);
    }
    for (const [key, entry] of Object.entries(value)) {
      const rule = needed[key] ?? optional[key];
      if (rule === undefined) throw new ScriptError(`${path}.${key}`, 'is no known field');
      if (entry !== undefined) rule(entry, `${path}.${key}`);
    }
  };
}

const oneCall = shape({ name: aName }, { arguments: anything, call_id: aName });
const calls: Rule = (value, path) => {
  if (!Array.isArray(value)) return oneCall(value, path);
  if (value.length === 0) throw new ScriptError(path, 'must hold at least one call');
  value.forEach((entry, index) => oneCall(entry, `${path}[${index}]`));
};
const failure = shape({ code: aName, message: aString });

const STEPS: Record<StepKind, Rule> = {
  say: shape({ say: aString }, { phase: choice('commentary', 'final_answer'), delta_ms: aTime }),
  reason: shape({ reason: aString }, { delta_ms: aTime }),
  call: shape(
    { call: calls },
    {
      appear: choice('together', 'one_by_one'),
      gap_ms: aTime,
      arguments_as: choice('object', 'string'),
      timeout_ms: aTime,
    },
  ),
  ask: shape(
    {
      ask: (value, path) => {
        anObject(value, path);
        const type = isObject(value) ? value['type'] : undefined;
        choice('mcp_tool_call', 'browser_authentication', 'browser_origin_access')(type, `${path}.type`);
        if (type !== 'browser_authentication' || !isObject(value)) return;
        for (const key of ['fields', 'options']) {
          if (!Array.isArray(value[key])) throw new ScriptError(`${path}.${key}`, 'must be an array');
        }
      },
    },
    { request_id: aName, timeout_ms: aTime },
  ),
  wait_ms: shape({ wait_ms: aTime }),
  wait_for: shape({ wait_for: choice('message', 'cancel') }),
  fail: shape({ fail: failure }),
  fail_session: shape({ fail_session: failure }),
  budget: shape({ budget: choice(true) }),
  subagent: shape({
    subagent: shape(
      { name: aName, say: aString },
      { outcome: choice('completed', 'failed', 'cancelled'), work_ms: aTime, on_stream: aFlag },
    ),
  }),
  event: shape({ event: anObject }),
  item: shape({ item: anObject }),
};

/** Checks one step. Throws a `ScriptError`. */
export function checkStep(value: unknown, path: string): Step {
  if (!isObject(value)) throw new ScriptError(path, 'must be an object');
  const kinds = STEP_KINDS.filter((kind) => kind in value);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw new ScriptError(path, `must have exactly one of ${STEP_KINDS.join(', ')}`);
  }
  STEPS[kind](value, path);
  return value as unknown as Step;
}

/** Checks a list of steps. Throws a `ScriptError`. */
export function checkSteps(value: unknown, path: string): Step[] {
  if (!Array.isArray(value)) throw new ScriptError(path, 'must be an array of steps');
  return value.map((entry, index) => checkStep(entry, `${path}[${index}]`));
}

/** Checks a script, given as data or made in code. Throws a `ScriptError`. */
export function checkScript(value: unknown, path: string): AgentScript {
  if (!isObject(value)) throw new ScriptError(path, 'must be an object');
  const { steps, next, match } = value;
  aName(value['name'], `${path}.name`);
  if ((steps === undefined) === (next === undefined)) {
    throw new ScriptError(path, "needs either 'steps' or 'next'");
  }
  if (steps !== undefined) checkSteps(steps, `${path}.steps`);
  if (next !== undefined && typeof next !== 'function') {
    throw new ScriptError(`${path}.next`, 'must be a function');
  }
  if (match !== undefined && typeof match !== 'function') checkMatch(match, `${path}.match`);
  for (const key of Object.keys(value)) {
    if (!['name', 'match', 'steps', 'next'].includes(key)) {
      throw new ScriptError(`${path}.${key}`, 'is no known field');
    }
  }
  return value as unknown as AgentScript;
}

function checkMatch(value: unknown, path: string): void {
  shape(
    {},
    {
      model: aString,
      instructions: aString,
      metadata: (entry, at) => {
        anObject(entry, at);
        for (const [key, one] of Object.entries(entry as RawObject)) aString(one, `${at}.${key}`);
      },
      tools: (entry, at) => {
        if (!Array.isArray(entry)) throw new ScriptError(at, 'must be an array of tool names');
        entry.forEach((one, index) => aString(one, `${at}[${index}]`));
      },
    },
  )(value, path);
}
