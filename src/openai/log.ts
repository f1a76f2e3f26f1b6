/** The logger that this layer is given: pino, or Temporal's activity logger, fits. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}
