/** Crash tests of a user's own agents and tools. */
export { CrashTest, type CrashTestOptions } from './crash-test.ts';
export type { Bench } from './bench.ts';
export { reportText } from './report-text.ts';
export type { CrashTestReport } from './report.ts';
export type { TestPlan } from './plan.ts';
export type { PointVerdict } from './verdict.ts';
