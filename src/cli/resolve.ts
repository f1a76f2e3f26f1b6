import type { ResolveCallInput } from '../client/index.ts';
import { connect } from './connect.ts';
import { say, UsageError } from './output.ts';
import { parseJson } from './read.ts';

interface ResolveCommand {
  result?: string;
  resultJson?: string;
  runAgain?: boolean;
  reportFailure?: string;
  turn?: string;
}

/** `holdfast resolve`: a person's answer about a call whose outcome is unknown. */
export async function resolve(taskId: string, callId: string, options: ResolveCommand): Promise<void> {
  const answer = answerOf(callId, options);
  await using tasks = await connect();
  const { call_id, action } = await tasks.get(taskId).resolveCall(answer);
  say(`Recorded for call ${call_id}: ${action.replaceAll('_', ' ')}`);
}

function answerOf(call_id: string, options: ResolveCommand): ResolveCallInput {
  const call = { call_id, ...(options.turn === undefined ? {} : { turn_id: options.turn }) };
  const answers: ResolveCallInput[] = [];
  if (options.result !== undefined) answers.push({ ...call, action: 'result', output: options.result });
  if (options.resultJson !== undefined) {
    answers.push({ ...call, action: 'result', output: parseJson('--result-json', options.resultJson) });
  }
  if (options.runAgain === true) answers.push({ ...call, action: 'run_again' });
  if (options.reportFailure !== undefined) {
    answers.push({ ...call, action: 'report_failure', error: options.reportFailure });
  }
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) {
    throw new UsageError(
      'resolve needs exactly one of --result, --result-json, --run-again and --report-failure',
    );
  }
  return answer;
}
