/** Which script plays a turn, and what its next step is. */
import { builtInScript } from './built-in-script.ts';
import { plainText } from './items.ts';
import type { ScriptRef, SessionRecord, TurnRecord } from './records.ts';
import type { AgentScript, ResultView, Step, TurnView } from './script.ts';
import { checkStep, checkSteps } from './step-check.ts';
import { isObject, type AgentSession, type FunctionTool } from './wire.ts';

const INLINE = 'script:';

/**
 * The script of a new turn: the steps written into the message itself (`script:` and a JSON array),
 * else the first given script that matches, else the built-in one. Never throws: a malformed inline
 * script is a turn that fails with the parse error as its message.
 */
export function chooseScript(
  scripts: readonly AgentScript[],
  session: AgentSession,
  inputText: string,
): ScriptRef {
  if (inputText.startsWith(INLINE)) return { kind: 'inline', steps: parseInline(inputText) };
  const found = scripts.find((script) => matches(script, session)) ?? builtInScript;
  return { kind: 'named', name: found.name };
}

function parseInline(inputText: string): Step[] {
  try {
    return checkSteps(JSON.parse(inputText.slice(INLINE.length)), 'script');
  } catch (error) {
    return [{ fail: { code: 'invalid_request', message: (error as Error).message } }];
  }
}

function matches(script: AgentScript, session: AgentSession): boolean {
  const { match } = script;
  if (match === undefined) return true;
  if (typeof match === 'function') return match(session);
  const tools = functionTools(session.agent.tools).map((tool) => tool.name);
  return (
    (match.model === undefined || match.model === session.agent.model) &&
    (match.instructions === undefined || (session.agent.instructions ?? '').includes(match.instructions)) &&
    (match.tools ?? []).every((name) => tools.includes(name)) &&
    Object.entries(match.metadata ?? {}).every(([key, value]) => session.metadata[key] === value)
  );
}

function functionTools(tools: AgentSession['agent']['tools']): FunctionTool[] {
  return tools.filter((tool): tool is FunctionTool => tool.type === 'function');
}

/**
 * The next step of a turn, or null at its end. A code script is asked again with the view made from
 * saved state, so it goes on after a restart. Throws when the script does, or gives no valid step.
 */
export function nextStep(
  scripts: readonly AgentScript[],
  record: SessionRecord,
  turn: TurnRecord,
): Step | null {
  const ref = turn.script;
  if (ref.kind === 'inline') return stepOf(ref.steps, turn.steps_done);
  const script = scripts.find((one) => one.name === ref.name) ?? builtInScript;
  if (script.steps !== undefined) return stepOf(script.steps, turn.steps_done);
  if (script.next === undefined) return null;
  const step = script.next(viewOf(record, turn));
  return step === null ? null : checkStep(withDefaultPhase(step, true), `script '${script.name}'`);
}

function stepOf(steps: readonly Step[], index: number): Step | null {
  const step = steps[index];
  if (step === undefined) return null;
  const last = steps.findLastIndex((one) => 'say' in one);
  return withDefaultPhase(step, index === last);
}

function withDefaultPhase(step: Step, final: boolean): Step {
  if (!isObject(step) || !('say' in step) || step.phase !== undefined) return step;
  return { ...step, phase: final ? 'final_answer' : 'commentary' };
}

function viewOf(record: SessionRecord, turn: TurnRecord): TurnView {
  const { agent } = record;
  const format = agent.text.format;
  // Results are made afresh each time; the rest is copied, so that no script can change the record.
  const results = resultsOf(record, turn);
  const rest = structuredClone({
    turn_index: turn.index,
    input_text: turn.input_text,
    messages: turn.messages,
    step: turn.steps_done,
    tools: functionTools(agent.tools).map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
    metadata: record.metadata,
    model: agent.model,
    instructions: agent.instructions,
    answer_schema: format.type === 'json_schema' ? format.schema : null,
  });
  return { ...rest, results };
}

/** What was answered in this turn, as text, in the order of the answers. */
function resultsOf(record: SessionRecord, turn: TurnRecord): ResultView[] {
  const outputs = new Map(
    record.items
      .filter((item) => item.turn_id === turn.turn.id && item.item.type === 'function_call_output')
      .map((item) => [item.key, item.item]),
  );
  return turn.results.map(({ name, call_id: callId, output_key: key, decision }) => {
    const item = key === null ? undefined : outputs.get(key);
    const given = item?.type === 'function_call_output' ? item : undefined;
    const success = given === undefined || given.status === 'completed';
    return {
      name,
      call_id: callId,
      success,
      output: success ? (decision ?? plainText(given?.output)) : null,
      error: given?.error ?? null,
    };
  });
}

/** Puts results into a text: `{{tool}}` is the last one of that name, `{{tool.N}}` the N-th; unknown ones stay. */
export function fillIn(text: string, record: SessionRecord, turn: TurnRecord): string {
  if (!text.includes('{{')) return text;
  const all = resultsOf(record, turn);
  return text.replaceAll(
    /\{\{([^{}]+?)(?:\.(\d+))?\}\}/g,
    (whole, name: string, index: string | undefined) => {
      const results = all.filter((result) => result.name === name);
      const result = index === undefined ? results.at(-1) : results[Number(index)];
      return result === undefined ? whole : ((result.success ? result.output : result.error) ?? '');
    },
  );
}
