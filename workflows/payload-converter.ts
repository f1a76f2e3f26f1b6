/**
 * Temporal's own payload converter, except that what cannot be decoded is a value like any other. Anybody may start
 * or signal a task with a payload of an odd encoding; an exception while it is decoded would fail the workflow task,
 * for ever. The bundle takes this module in (`payloadConverterPath`).
 */
import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';

import { oneLine } from '../src/protocol/text.ts';
import { Unreadable } from '../src/protocol/unreadable.ts';

/** Looked up by this name. @public */
export const payloadConverter = {
  toPayload: (value: unknown): Payload => defaultPayloadConverter.toPayload(value),
  fromPayload(payload: Payload): unknown {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch {
      const encoding = String.fromCharCode(...(payload.metadata?.['encoding'] ?? []).slice(0, 100));
      return new Unreadable(oneLine(encoding, 40));
    }
  },
} as PayloadConverter;
