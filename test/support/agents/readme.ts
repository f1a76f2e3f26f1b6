/** What a worker behind the README's command lines knows: the README's agent, and one whose tool gets cut off. */
export { support } from '../../../src/examples/readme-agents.ts';
export { tester } from '../agents.ts';
