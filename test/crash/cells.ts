/** The cells of the crash matrix: every fault point, in tasks of every shape. */
import type { AgentScript, CallSpec, EmulatorOptions, Step } from '../../src/emulator/index.ts';
import { FAULT_POINTS, type FaultPoint } from '../../src/faults/fault-point.ts';

/** A call of a task, and the bytes that the service must get for it. */
export interface ExpectedCall extends CallSpec {
  name: 'note' | 'pay';
  arguments: Record<string, unknown>;
  call_id: string;
  output: string;
}

/** `rounds`: calls that appear together, one round after the other. */
export interface Shape {
  name: string;
  parallel: boolean;
  /** The tool of the first round, which is the one that a `tool.…` point strikes. */
  first: 'note' | 'pay';
}

export const SHAPES: readonly Shape[] = [
  { name: 'sequential-repeatable', parallel: false, first: 'note' },
  { name: 'sequential-once', parallel: false, first: 'pay' },
  { name: 'parallel-repeatable', parallel: true, first: 'note' },
  { name: 'parallel-once', parallel: true, first: 'pay' },
];

export interface Cell {
  point: FaultPoint;
  /** The worker is killed when it passes the point for this time. */
  hit: number;
  shape: Shape;
  rounds: ExpectedCall[][];
  /** Environment of the worker that crashes. */
  env: Record<string, string>;
  faults: NonNullable<EmulatorOptions['faults']>;
  /** The task attaches to a session instead of creating one: only then does it post its message. */
  attached: boolean;
}

/** Passed more than once by every task, and each time with another thing on its way: a second hit is a case of its own. */
const TWICE: readonly FaultPoint[] = ['stream.opened', 'follow.before_return'];
/** Enough rounds to pass the smallest limit of events. */
const MANY_ROUNDS = 9;

/** All cells, or those of some points and shapes. */
export function cells(points: readonly string[] = [], shapes: readonly string[] = []): Cell[] {
  const list: Cell[] = [];
  for (const point of FAULT_POINTS) {
    for (const hit of TWICE.includes(point) ? [1, 2] : [1]) {
      for (const shape of SHAPES) {
        if (points.length > 0 && !points.includes(point)) continue;
        if (shapes.length > 0 && !shapes.includes(shape.name)) continue;
        // One call at a time is never posted beside a follower: while it runs, nobody follows.
        if (point === 'post.before_return' && !shape.parallel) continue;
        list.push(cell(point, hit, shape));
      }
    }
  }
  return list;
}

/** The name of a cell's row: the point, and which time it is passed. */
export function rowName({ point, hit }: Pick<Cell, 'point' | 'hit'>): string {
  return hit === 1 ? point : `${point}#${hit}`;
}

function cell(point: FaultPoint, hit: number, shape: Shape): Cell {
  const continued = point.startsWith('run.');
  return {
    point,
    hit,
    shape,
    rounds: roundsOf(shape, continued ? MANY_ROUNDS : 3),
    env: continued ? { HOLDFAST_CONTINUE_AFTER_EVENTS: '50' } : {},
    // A first result that takes its time keeps the follower busy until the second one is there.
    faults:
      point === 'post.before_return'
        ? [{ kind: 'delay', ms: 1500, match: { input_type: 'tool_result' } }]
        : [],
    attached: point === 'input.posted',
  };
}

/** One call a round, or two that run side by side; the tools take turns. */
function roundsOf({ parallel, first }: Shape, count: number): ExpectedCall[][] {
  const other = first === 'note' ? 'pay' : 'note';
  return Array.from({ length: count }, (_, round) => {
    const name = round % 2 === 0 ? first : other;
    const one = call(name, round * 2 + 1, 0);
    return parallel && round < 2 ? [one, call(name, round * 2 + 2, 300)] : [one];
  });
}

function call(name: 'note' | 'pay', number: number, hold_ms: number): ExpectedCall {
  const call_id = `call-${String(number).padStart(2, '0')}`;
  return name === 'note'
    ? { name, call_id, arguments: { text: call_id, hold_ms }, output: JSON.stringify({ noted: call_id }) }
    : { name, call_id, arguments: { amount: number, hold_ms }, output: JSON.stringify({ paid: number }) };
}

/** Plays a cell: its rounds, then an answer that names every result. A first turn of an attached session is short. */
export function script({ rounds, attached }: Cell): AgentScript {
  return {
    name: 'matrix',
    match: { model: 'test-model' },
    next: ({ turn_index, step, results }): Step | null => {
      if (attached && turn_index === 0) return step === 0 ? { say: 'Ready.' } : null;
      const round = rounds[step];
      if (round) {
        return {
          call: round.map(({ name, call_id, arguments: args }) => ({ name, call_id, arguments: args })),
        };
      }
      if (step > rounds.length) return null;
      const given = results.toSorted((a, b) => (a.call_id < b.call_id ? -1 : 1));
      return { say: answer(given.map(({ call_id, output }) => ({ call_id, output: output ?? 'nothing' }))) };
    },
  };
}

/** The answer that a task must give whatever happened to its workers. */
export function answer(results: readonly { call_id: string; output: string }[]): string {
  return `Done: ${results.map(({ call_id, output }) => `${call_id} ${output}`).join(', ')}.`;
}
