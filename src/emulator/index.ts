/** A local Agents API: the same wire, scripted agents, fault switches. */
export { startEmulator, type Emulator, type EmulatorOptions } from './emulator.ts';
export type { Counters, Counts } from './counters.ts';
export type { FaultKind, FaultMatch, FaultSpec } from './fault-kinds.ts';
export { checkFault, type FaultStatus } from './faults.ts';
export type { Settings } from './live-session.ts';
export type { PostRecord, Violation } from './store.ts';
export type { AgentScript, CallSpec, ResultView, ScriptMatch, Step, TurnView } from './script.ts';
export { loadScripts } from './script-load.ts';
