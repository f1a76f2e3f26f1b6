const BRAND = Symbol.for('holdfast.ToolError');

/**
 * A failure that the model may read. Throw it from a tool to tell the model what went wrong; every other error is
 * answered with a plain sentence that shows nothing of the error but its class (I11).
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /** Known by this, not by its class: the agents' module may have a copy of Holdfast of its own. */
  readonly [BRAND] = true;
  /** A repeatable tool is tried again within its allowed attempts. Default: false, the model is told at once. */
  readonly retryable: boolean;

  constructor(message: string, options: { retryable?: boolean } = {}) {
    super(message);
    this.retryable = options.retryable ?? false;
  }
}

/** True for a ToolError of any copy of this module. */
export function isToolError(error: unknown): error is ToolError {
  return error instanceof Error && BRAND in error;
}

/** A definition of an agent or a tool that cannot work; thrown when the program starts. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
}
