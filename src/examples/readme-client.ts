import { AgentTaskError, AgentTasks } from '../client/index.ts';

const tasks = await AgentTasks.connect();
try {
  const input = 'Order 1042 arrived broken. I want my money back.';
  // The same id with the same input gives the same task, however often this runs.
  const task = await tasks.start({ agent: 'support', input }, { taskId: 'ticket-1042' });
  const record = await task.result(); // waits, for days if need be
  process.stdout.write(`${record.output_text}\n`);
} catch (error) {
  if (!(error instanceof AgentTaskError)) throw error;
  // `reason` is one of a closed list: TurnFailed, SessionFailed, Cancelled, …; `record` is what was achieved.
  process.stderr.write(`${error.reason}: ${error.message}\n`);
} finally {
  await tasks.close();
}
