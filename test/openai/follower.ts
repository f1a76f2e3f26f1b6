/** One follower run against a bench, with what it showed and planned. */
import type { FollowInput, FollowOutput } from '../../src/protocol/activities.ts';
import { callKey, type PlannedCall, type RequiredCall } from '../../src/protocol/calls.ts';
import { inputMessages } from '../../src/protocol/inputs.ts';
import type { FollowOptions } from '../../src/openai/follow-options.ts';
import { followTurn } from '../../src/openai/turn-follower.ts';
import type { Bench } from './bench.ts';
import { script } from './bench.ts';
import type { Step } from '../../src/emulator/index.ts';

type View = Parameters<FollowOptions['view']>[0];

export interface Followed {
  output: FollowOutput;
  views: View[];
  /** Keys of calls that were asked to be planned, once for each time. */
  plans: string[];
}

/** Follows until the follower returns. Silence and limit are short, so that a hang is a failed test. */
export async function follow(
  bench: Bench,
  input: Partial<FollowInput> & { session_id: string },
  options: Partial<FollowOptions> = {},
): Promise<Followed> {
  const views: View[] = [];
  const plans: string[] = [];
  const plan = (call: RequiredCall): PlannedCall => {
    plans.push(callKey(call));
    return planned(call);
  };
  const never = new AbortController().signal;
  const output = await followTurn(
    {
      agent: null,
      turn_id: null,
      after_turn_id: null,
      postings: [],
      known: [],
      unconfirmed: [],
      settled: [],
      messages: [],
      ...input,
    },
    {
      api: bench.api,
      log: bench.log,
      signal: never,
      handover: never,
      plan,
      view: (view) => views.push(view),
      silenceMs: 20_000,
      maxMs: 30_000,
      ...options,
    },
  );
  return { output, views, plans };
}

/** A plan to run a call. */
export function planned({ turn_id, call_id, name }: RequiredCall): PlannedCall {
  return {
    turn_id,
    call_id,
    name,
    summary: '',
    arguments: {},
    arguments_digest: 'digest',
    plan: { kind: 'run', effect: 'once', timeout_ms: 1000, attempts: 1, backoff_ms: 1000, has_check: false },
  };
}

/** A posting of a message that makes the agent play these steps. */
export function say(
  steps: Step[] | string,
  key = 'hf_m1',
): { kind: 'message'; key: string; input: FollowInput['messages'][number]['input'] } {
  return { kind: 'message', key, input: inputMessages(typeof steps === 'string' ? steps : script(steps)) };
}

/** A posting of a result for a call key. */
export function resultOf(key: string, output: string): FollowInput['postings'][number] {
  const [turn_id = '', call_id = ''] = key.split('/');
  return { kind: 'tool_result', turn_id, call_id, result: { success: true, output } };
}

export function keys(output: FollowOutput): string[] {
  return output.calls.map(callKey);
}
