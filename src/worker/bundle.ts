import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { BundleOptions } from '@temporalio/worker';

/**
 * What `bundleWorkflowCode` needs for the workflows of Holdfast.
 * @param faults with the fault points of workflow code, for a worker that is armed with one
 */
export function bundleOptions(faults = false): BundleOptions {
  return {
    workflowsPath: module('index'),
    payloadConverterPath: module('payload-converter'),
    workflowInterceptorModules: [module('odd-messages'), ...(faults ? [module('fault-points')] : [])],
  };
}

/** A module of workflow code, with the same ending as this file's: the worker runs compiled and from source. */
function module(name: string): string {
  return fileURLToPath(new URL(`../../workflows/${name}${extname(import.meta.url)}`, import.meta.url));
}
