/** Part of the build: prepares the workflow bundle, so that a worker starts without bundling anew. */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const workflowsPath = fileURLToPath(new URL('../../workflows/index.js', import.meta.url));
const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
await writeFile(new URL('../../workflow-bundle.js', import.meta.url), code);
