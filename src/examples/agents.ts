/** The example agents: `holdfast worker --agents src/examples/agents.ts`. */
export { tripPlanner } from './trip-planner.ts';
