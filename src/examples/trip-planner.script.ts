/** How the local Agents API plays the trip planner's model: a pure function of what has happened in the turn. */
import type { AgentScript, Step, TurnView } from '../emulator/index.ts';

/** Between two words. */
const SLOW_MS = 250;

const script: AgentScript = {
  name: 'trip-planner',
  match: { tools: ['get_weather', 'hold_room', 'book_room'] },
  next: (view: TurnView): Step | null => {
    // For whoever wants to watch, or to interrupt: `"metadata": {"pace": "slow"}` in the task's input.
    const pace = view.metadata['pace'] === 'slow' ? { delta_ms: SLOW_MS } : {};
    switch (view.step) {
      case 0:
        return { reason: 'Compare both cities first, then hold a room in the better one.' };
      case 1:
        return { say: 'Let me look at the weather in Lisbon and Porto.', phase: 'commentary', ...pace };
      case 2:
        return {
          call: [
            { name: 'get_weather', arguments: { city: 'Lisbon' } },
            { name: 'get_weather', arguments: { city: 'Porto' } },
          ],
        };
      case 3:
        return { call: { name: 'hold_room', arguments: { city: 'Lisbon', nights: 2 } } };
      case 4:
        return {
          say: 'Lisbon is sunny, Porto is not, and a room in Lisbon is on hold for you. I am booking it now, for two nights.',
          phase: 'commentary',
          ...pace,
        };
      case 5:
        return { call: { name: 'book_room', arguments: { hold_id: field(view, 'hold_room', 'hold_id') } } };
      case 6:
        return {
          say: `Lisbon it is: ${field(view, 'get_weather', 'sky', 'Lisbon')} and warmer than Porto. Your room for two nights is booked, confirmation ${field(view, 'book_room', 'confirmation')}.`,
          ...pace,
        };
      default:
        return null;
    }
  },
};
export default script;

/** A field of the result of a tool (about a city, where that matters), or its error, which a model would quote too. */
function field(view: TurnView, tool: string, name: string, city?: string): string {
  const texts: string[] = [];
  for (const { name: from, success, output, error } of view.results) {
    if (from !== tool) continue;
    const data = success && output !== null ? (JSON.parse(output) as Record<string, unknown>) : {};
    const value = data[name];
    // Parallel calls are answered in any order.
    if (typeof value === 'string' && (city === undefined || data['city'] === city)) return value;
    if (error !== null) texts.push(error);
  }
  return texts[0] ?? 'unknown';
}
