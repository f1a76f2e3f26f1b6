/**
 * A trip planner: looks up the weather of two cities side by side, holds a room, and books it once.
 *
 * The weather and the hotel are files in a folder here, so that it runs anywhere and anybody can count what
 * happened. The three tools show the two kinds of effect: asking for the weather or holding a room again does no
 * harm; booking twice does.
 */
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

import { z } from 'zod';

import { defineAgent, defineTool, ToolError, type ToolCall } from '../tools/index.ts';

const folder = process.env['TRIP_PLANNER_DIR'] ?? '.holdfast/trip-planner';
/** Makes each tool take a while, for demonstrations. */
const delayMs = Number(process.env['TRIP_PLANNER_DELAY_MS'] ?? 0);

const CLIMATE: Record<string, { high: number; sky: string }> = {
  lisbon: { high: 19, sky: 'sunny' },
  porto: { high: 16, sky: 'light rain' },
  oslo: { high: 1, sky: 'snow' },
  rome: { high: 17, sky: 'clear' },
};

export const getWeather = defineTool({
  name: 'get_weather',
  description: 'The weather forecast of a city for the coming weekend.',
  parameters: z.object({ city: z.string().describe('Name of the city, for example Lisbon') }),
  effect: 'repeatable',
  timeout: '30s',
  async execute({ city }, call) {
    await note('weather', { city }, call);
    const forecast = CLIMATE[city.toLowerCase()];
    if (!forecast) throw new ToolError(`No forecast for ${city}.`);
    return { city, high_celsius: forecast.high, sky: forecast.sky };
  },
});

export const holdRoom = defineTool({
  name: 'hold_room',
  description: 'Holds a hotel room for 30 minutes without booking it. Returns a hold id.',
  parameters: z.object({ city: z.string(), nights: z.int().min(1).max(14) }),
  effect: 'repeatable',
  timeout: '30s',
  async execute({ city, nights }, call) {
    await note('holds', { city, nights }, call);
    // The same call gives the same hold, however often it runs.
    return { hold_id: `hold-${call.idempotencyKey.slice(-8)}`, city, nights, price_eur: 94 * nights };
  },
});

export const bookRoom = defineTool({
  name: 'book_room',
  description: 'Books a room that is on hold and charges for it. Cannot be undone.',
  parameters: z.object({ hold_id: z.string() }),
  effect: 'once',
  timeout: '30s',
  async execute({ hold_id }, call) {
    await note('bookings', { hold_id }, call);
    return { confirmation: `HF-${call.idempotencyKey.slice(-6).toUpperCase()}`, hold_id };
  },
  /** After a crash in the middle: the hotel's own book says whether the room was booked. */
  async check(_args, call) {
    const lines = await readFile(join(folder, 'bookings.jsonl'), 'utf8').catch(() => '');
    const line = lines.split('\n').find((text) => text.includes(call.idempotencyKey));
    if (line === undefined) return { status: 'not_done' };
    const { hold_id } = z.object({ hold_id: z.string() }).parse(JSON.parse(line));
    return {
      status: 'done',
      output: { confirmation: `HF-${call.idempotencyKey.slice(-6).toUpperCase()}`, hold_id },
    };
  },
});

export const tripPlanner = defineAgent({
  name: 'trip-planner',
  model: process.env['HOLDFAST_MODEL'] ?? 'gpt-5',
  instructions:
    'You plan short city trips. Compare the weather of the cities the user names, both at once. Hold a room in the ' +
    'better one, then book it. Answer in two sentences with the confirmation.',
  tools: [getWeather, holdRoom, bookRoom],
});

/** Takes the tool's time, then writes one line per execution: the effect that anybody can count. */
async function note(book: string, entry: Record<string, unknown>, call: ToolCall): Promise<void> {
  await wait(delayMs, undefined, { signal: call.signal });
  await mkdir(folder, { recursive: true });
  const line = JSON.stringify({
    ...entry,
    call_id: call.callId,
    key: call.idempotencyKey,
    attempt: call.attempt,
  });
  await appendFile(join(folder, `${book}.jsonl`), `${line}\n`);
}
