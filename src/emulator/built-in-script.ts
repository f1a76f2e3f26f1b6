/** The agent that plays when no other script fits: it calls every declared tool once and tells what came back. */
import { exampleOf } from './example-arguments.ts';
import type { AgentScript, ResultView, Step, TurnView } from './script.ts';

const QUOTE_LENGTH = 160;

export const builtInScript: AgentScript = { name: 'built-in', next };

function next(view: TurnView): Step | null {
  const calls = view.tools.map((tool) => ({ name: tool.name, arguments: exampleOf(tool.parameters) }));
  const callSteps = calls.length > 0 ? 1 : 0;
  if (view.step < callSteps) return { call: calls };
  if (view.step === callSteps) return { say: answer(view), phase: 'final_answer' };
  return null;
}

function answer(view: TurnView): string {
  if (view.answer_schema !== null) return JSON.stringify(exampleOf(view.answer_schema));
  if (view.results.length === 0) {
    return (
      `Hello! I am the scripted agent of the local emulator, not a model. ` +
      `You wrote: "${quote(view.input_text)}".`
    );
  }
  return `I called ${listed(view.results)}. ${view.results.map(sentence).join(' ')}`;
}

function sentence(result: ResultView): string {
  return result.success
    ? `${result.name} returned: ${quote(result.output ?? 'nothing')}.`
    : `${result.name} failed: ${quote(result.error ?? 'no reason given')}.`;
}

function listed(results: readonly ResultView[]): string {
  const names = results.map((result) => result.name);
  return names.length === 1 ? String(names[0]) : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Cut between code points, so that no half of a surrogate pair stays. */
function quote(text: string): string {
  const points = Array.from(text);
  return points.length <= QUOTE_LENGTH ? text : `${points.slice(0, QUOTE_LENGTH).join('')}…`;
}
