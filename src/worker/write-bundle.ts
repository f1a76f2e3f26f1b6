/** Part of the build: prepares the workflow bundle, so that a worker starts without bundling anew. */
import { writeFile } from 'node:fs/promises';

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

import { bundleOptions } from './bundle.ts';

const { code } = await bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('ERROR') });
await writeFile(new URL('../../workflow-bundle.js', import.meta.url), code);
