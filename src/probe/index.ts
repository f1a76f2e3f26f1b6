/** Asks a server of the Agents API's wire how it behaves where no documentation says it. */
export { QUESTIONS, isQuestion } from './catalogue.ts';
export { estimate, probe, CannotProbe, LIMITS, type ProbeOptions } from './probe.ts';
export {
  emulatorOptions,
  loadProfile,
  profileOf,
  saveProfile,
  ProfileError,
  type Profile,
} from './profile.ts';
export type { Finding } from './question.ts';
export type { ProbeReport } from './report.ts';
export { counted, reportText } from './report-text.ts';
export type { Limits } from './scene.ts';
