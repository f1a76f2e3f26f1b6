/**
 * Commands and options. What a command does is loaded when it runs: the Temporal client alone takes longer than
 * `--help` may.
 */
import { createRequire } from 'node:module';
import { Command, InvalidArgumentError, Option } from 'commander';

import { redact } from '../protocol/secrets.ts';

const EXAMPLES = `
Examples:
  holdfast emulator                                       a local Agents API, no key needed
  holdfast worker --agents ./my-agents.ts                 a worker with your agents
  holdfast start --agent trip-planner --input 'A weekend in Lisbon' --wait
  holdfast start --task-id order-42 --json-file task.json the same id again gives the same task
  holdfast status order-42
  holdfast resolve order-42 call_7 --run-again            answer a call whose outcome is unknown
  holdfast crash-test ./my-agents.ts                      do your tools keep what they declare?

Temporal is found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the profiles of temporal.toml, as by the temporal
command. Exit codes: 0 done, 1 failed, 2 wrong use, 3 the task was cancelled.`;

const RESULT_JSON = new Option('--json', 'print the run record as JSON');
const TASK_QUEUE = '--task-queue <name>';

/** The command line. Mistakes in it throw CommanderError once they have been told in one line. */
export function program(): Command {
  const holdfast = new Command('holdfast')
    .description('Durable runs of OpenAI Agents API sessions on Temporal')
    .version(version(), '--version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => {
        const line = text
          .trim()
          .replace(/^error: /, '')
          .replace(/\s*\n\s*/g, ' ');
        // It repeats what was typed, which may be a key in the wrong place (I11).
        write(`holdfast: ${redact(line.replace('(Did you mean', '(did you mean'))}\n`);
      },
    })
    .addHelpText('after', EXAMPLES);

  holdfast
    .command('start')
    .description('start a task and print its id')
    .option('--agent <name>', 'a registered agent')
    .option('--session <id>', 'go on in an existing session')
    .option('--input <text>', 'the first message')
    .addOption(
      new Option('--input-file <file>', 'the first message from a file, - for stdin').conflicts('input'),
    )
    .addOption(task('--json <json>', 'the whole task input as JSON').conflicts('jsonFile'))
    .addOption(task('--json-file <file>', 'the whole task input from a JSON file, - for stdin'))
    .option('--task-id <id>', 'start it once: the same id gives the same task')
    .option(TASK_QUEUE, 'the task queue of the workers')
    .option('--wait', 'wait for the end and print the answer')
    .action(async (options) => (await import('./start.ts')).start(options));

  holdfast
    .command('status')
    .description('where a task stands; works without a worker')
    .argument('<task-id>')
    .option('--json', 'print all of it as JSON')
    .action(async (id: string, options) => (await import('./status.ts')).status(id, options));

  holdfast
    .command('result')
    .description('wait for the end of a task and print its answer')
    .argument('<task-id>')
    .addOption(RESULT_JSON)
    .action(async (id: string, options) => (await import('./result.ts')).result(id, options));

  holdfast
    .command('cancel')
    .description('ask a task to stop')
    .argument('<task-id>')
    .action(async (id: string) => (await import('./cancel.ts')).cancel(id));

  holdfast
    .command('resolve')
    .description('answer a call whose outcome is unknown, in one of four ways')
    .argument('<task-id>')
    .argument('<call-id>')
    .option('--result <text>', 'it did happen: the result that the tool would have given')
    .option('--result-json <json>', 'the same as JSON')
    .option('--run-again', 'it did not happen: run the tool once more')
    .option('--report-failure <text>', 'tell the agent that it failed')
    .option('--turn <id>', 'the turn of the call, should two turns have used the same call id')
    .action(async (id: string, call: string, options) =>
      (await import('./resolve.ts')).resolve(id, call, options),
    );

  holdfast
    .command('worker')
    .description('run a worker with the agents and tools of a module')
    .requiredOption('--agents <file>', 'a .ts or .js module that exports agents')
    .option(TASK_QUEUE, 'the task queue to poll')
    .action(async (options) => (await import('./worker.ts')).worker(options));

  holdfast
    .command('emulator')
    .description('run a local Agents API with scripted agents')
    .option('--port <number>', 'the port to listen on; 0 takes a free one', port, 8788)
    .option('--host <host>', 'a loopback address', '127.0.0.1')
    .option('--data <dir>', 'keep the sessions there and go on with them at the next start')
    .option('--script <file...>', 'scripted agents: .json, .js or .ts')
    .option('--profile <file>', 'answer like the server of a profile that holdfast probe saved')
    .action(async (options) => (await import('./emulator.ts')).emulator(options));

  holdfast
    .command('probe')
    .description('ask a server how it behaves where no documentation says it')
    .option('--base-url <url>', 'the server; otherwise OPENAI_BASE_URL')
    .option('--model <name>', 'the model of its short turns; otherwise HOLDFAST_MODEL, or gpt-5')
    .option('--only <ids>', 'only these questions, such as Q1,Q4,S6')
    .option(
      '--budget-cents <number>',
      'the spending limit of each session; 0 sets none',
      whole(0, 100_000),
      25,
    )
    .option('--listen <seconds>', 'how long to wait for a keep-alive', whole(0, 100), 20)
    .option('--timeout <seconds>', 'the time for the whole run', whole(1, 3600), 300)
    .option('--save <file>', 'write a profile for holdfast emulator --profile')
    .option('--json', 'print the report as JSON')
    .option('-y, --yes', 'the turns may be paid for: do not ask')
    .action(async (options) => (await import('./probe.ts')).probe(options));

  holdfast
    .command('crash-test')
    .description('run your agents and tools through every crash, and see whether their declared effects hold')
    .argument('<agents-file>', 'a .ts or .js module that exports agents')
    .option('--agent <name...>', 'only these agents')
    .option('--tool <name...>', 'only these tools')
    .option('--arguments <json>', 'arguments by tool, {"tool": {…}}, or a file with them')
    .option('--observe <file>', 'the module with observe(), when it is not the agents file')
    .option('--point <name...>', 'only these crash points')
    .option('--results-may-differ <tool...>', 'tools that read what changes by itself')
    .option('--timeout <duration>', 'how long one task may take, such as 90s')
    .option('--json', 'print the report as JSON')
    .option('-y, --yes', 'the tools may be executed: do not ask')
    .action(async (file: string, options) => (await import('./crash-test.ts')).crashTest(file, options));

  return holdfast;
}

/** An option that says everything about a task, so that the single ones cannot stand beside it. */
function task(flags: string, description: string): Option {
  return new Option(flags, description).conflicts(['agent', 'session', 'input', 'inputFile']);
}

function port(value: string): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number > 65_535)
    throw new InvalidArgumentError('a port is a number up to 65535.');
  return number;
}

function whole(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}.`);
    return number;
  };
}

function version(): string {
  const { version: own } = createRequire(import.meta.url)('holdfast/package.json') as { version: string };
  return own;
}
