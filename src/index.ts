/** Holdfast: define agents and tools, and run a worker that keeps their tasks going. */
export * from './tools/index.ts';
export { ConfigError, readConfig, type WorkerConfig } from './worker/config.ts';
export { createWorker, type CreateWorkerOptions, type HoldfastWorker } from './worker/create-worker.ts';
