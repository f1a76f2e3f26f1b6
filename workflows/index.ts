/** The workflows of Holdfast. A worker of your own exports these beside its own. */
export { agentTask } from './agent-task.ts';
export { sessionLock } from './session-lock.ts';
export { unknownType as default } from './unknown-type.ts';
