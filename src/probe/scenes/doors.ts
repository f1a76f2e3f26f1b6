/** What can be asked without any session. */
import { errorOf, isTaken, type Answer, type Request } from '../http.ts';
import { outcomeOf, told, type Scene } from '../scene.ts';

export const DOORS = ['Q17', 'S13', 'S14'] as const;

/** Of no account, and not secret: that it is refused is the point. */
const WRONG_KEY = 'holdfast-probe-no-such-key';
const NO_SESSION = 'sess_holdfast_probe_no_such_session';

export async function doors(scene: Scene): Promise<void> {
  const { http } = scene.context;
  const get = async (path: string, how: Partial<Request> = {}): Promise<Answer> =>
    http.send({ method: 'GET', path, signal: scene.signal, ...how });

  await scene.ask('Q17', async () => {
    const list = '/agents/sessions?limit=1';
    const noKey = await get(list, { bearer: null });
    const wrongKey = await get(list, { bearer: WRONG_KEY });
    const noBeta = await get(list, { beta: false });
    scene.note(
      'Q17',
      {
        no_key: statusOf(noKey),
        wrong_key: statusOf(wrongKey),
        no_beta: statusOf(noBeta),
        ...(isTaken(noKey) ? {} : { no_key_error: nameOf(noKey) }),
        ...(isTaken(wrongKey) ? {} : { wrong_key_error: nameOf(wrongKey) }),
        ...(isTaken(noBeta) ? {} : { no_beta_error: nameOf(noBeta) }),
      },
      `no key: ${told(noKey)}, wrong key: ${told(wrongKey)}, no beta header: ${told(noBeta)}`,
    );
  });

  await scene.ask('S14', async () => {
    const answer = await get(`/agents/sessions/${NO_SESSION}`);
    const { code, type } = errorOf(answer);
    scene.note(
      'S14',
      { status: String(answer.status), code: code ?? 'none', type: type ?? 'none' },
      told(answer),
    );
  });

  await scene.ask('S13', async () => listRules(scene, 'sessions', '/agents/sessions', get));
}

/** How one list treats limits out of range, and unknown query keys. */
export async function listRules(
  scene: Scene,
  name: string,
  path: string,
  get: (path: string) => Promise<Answer>,
): Promise<void> {
  const [none, many] = [await get(`${path}?limit=0`), await get(`${path}?limit=101`)];
  const odd = await get(`${path}?limit=1&holdfast_probe_unknown=1`);
  const words = [none, many].map((answer) => (isTaken(answer) ? 'clamped' : outcomeOf(answer)));
  const limit = words[0] === words[1] ? (words[0] ?? '') : words.join(', ');
  const key = isTaken(odd) ? 'ignored' : outcomeOf(odd);
  scene.note(
    'S13',
    { [`${name}_limit`]: limit, [`${name}_key`]: key },
    `${name}: limits out of range ${limit}, unknown key ${key}`,
  );
}

function statusOf(answer: Answer): string {
  return isTaken(answer) ? 'taken' : String(answer.status);
}

/** Type and code, both of which servers choose freely. */
function nameOf(answer: Answer): string {
  const { type, code } = errorOf(answer);
  return `${type ?? 'none'}/${code ?? 'none'}`;
}
