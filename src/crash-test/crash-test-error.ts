/** Why a crash test cannot be run, or not to its end: nothing is said about any tool. */
export class CrashTestError extends Error {
  override readonly name = 'CrashTestError';
}
