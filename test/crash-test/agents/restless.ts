/** A snapshot that never stays the same. */
export const observe = (): { at: string } => ({ at: process.hrtime.bigint().toString() });
