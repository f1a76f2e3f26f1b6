/** The client for backend services: start agent tasks, follow them, answer what waits for a person. */
export { AgentTasks } from './agent-tasks.ts';
export type { AgentTasksOptions, StartOptions } from './agent-tasks.ts';
export { AgentTask } from './agent-task.ts';
export type { ConnectOptions } from './connect.ts';
export {
  AgentTaskError,
  NoWorkerError,
  ServerUnavailableError,
  TaskConflictError,
  TaskNotFoundError,
  UpdateRefusedError,
} from './errors.ts';
export type { EndRecord, TaskFailureReason } from './errors.ts';
export type { TaskOverview } from './overview.ts';
export { InvalidInputError } from '../schema/invalid-input.ts';
export type { InputIssue } from '../schema/invalid-input.ts';
export type {
  AgentTaskInput,
  CallReport,
  FailureType,
  IgnoredSignal,
  PendingDecision,
  ResolveCallInput,
  ResolveCallResult,
  RunRecord,
  TaskState,
  TaskStatus,
  TurnReport,
} from '../protocol/task.ts';
