import type { AgentTaskInput } from '../client/index.ts';
import { connect, warnWithoutWorker } from './connect.ts';
import { print, say, UsageError } from './output.ts';
import { parseJson, readText } from './read.ts';
import { waitAndPrint } from './result.ts';
import { webUiLink } from './web-ui.ts';

interface StartCommand {
  agent?: string;
  session?: string;
  input?: string;
  inputFile?: string;
  json?: string;
  jsonFile?: string;
  taskId?: string;
  taskQueue?: string;
  wait?: boolean;
}

/** `holdfast start`: the id on stdout (with `--wait` the answer), hints on stderr. */
export async function start(options: StartCommand): Promise<void> {
  const input = inputOf(options);
  await using tasks = await connect(options.taskQueue);
  const task = await tasks.start(input, options.taskId === undefined ? {} : { taskId: options.taskId });
  if (options.wait === true) say(`Task     ${task.taskId}`);
  else print(task.taskId);
  const link = webUiLink(task.taskId);
  if (link !== undefined) say(`Web UI   ${link}`);
  await warnWithoutWorker(tasks, task);
  if (options.wait === true) await waitAndPrint(task, {});
}

/** The client checks it in full; here it is only put together. */
function inputOf(options: StartCommand): AgentTaskInput {
  if (options.json !== undefined) return parseJson('--json', options.json) as AgentTaskInput;
  if (options.jsonFile !== undefined) {
    return parseJson('--json-file', readText('--json-file', options.jsonFile)) as AgentTaskInput;
  }
  if (options.agent === undefined && options.session === undefined) {
    throw new UsageError('start needs --agent, --session, --json or --json-file');
  }
  const { agent, session, inputFile } = options;
  const input = inputFile === undefined ? options.input : readText('--input-file', inputFile);
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(session === undefined ? {} : { session_id: session }),
    ...(input === undefined ? {} : { input }),
  };
}
