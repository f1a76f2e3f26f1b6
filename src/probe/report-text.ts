/** The report for people: one block for each question, the asked ones first. */
import type { Finding } from './question.ts';
import type { ProbeReport } from './report.ts';

const WIDTH = 110;
const ID = 5;
const VERDICT = 15;
const INDENT = ' '.repeat(ID + VERDICT);

export function reportText(report: ProbeReport): string {
  const { findings } = report;
  const asked = findings.filter(({ verdict }) => verdict !== 'not_asked');
  const open = findings.filter(({ verdict }) => verdict === 'not_asked');
  return [
    headline(report),
    ...(asked.length === 0 ? [] : ['', ...asked.flatMap(block)]),
    ...(open.length === 0 ? [] : ['', 'Not asked', ...open.flatMap(unasked)]),
    '',
    ...summary(report),
  ].join('\n');
}

function headline({
  base_url_host: host,
  model,
  sessions,
  turns,
  tokens,
  requests,
  seconds,
}: ProbeReport): string {
  const spent = tokens === null ? '' : `, ${tokens} tokens`;
  return (
    `${host}, model ${model}: ${counted(requests, 'request')}, ${counted(sessions.created, 'session')}, ` +
    `${counted(turns, 'turn')}${spent}, ${seconds.toFixed(1)} s`
  );
}

function block(finding: Finding): string[] {
  const lines = [
    `${head(finding.id, verdictOf(finding))}${finding.question}`,
    ...wrapped(finding.seen ?? ''),
  ];
  if (finding.reason !== null) lines.push(...wrapped(`Not asked in part: ${finding.reason}.`));
  if (finding.verdict === 'differs') {
    lines.push(...wrapped(`Assumed: ${finding.assumption}`));
    lines.push(...wrapped(`${finding.safe === true ? 'No harm' : 'Harm'}: ${finding.holdfast}`));
  }
  return lines;
}

function unasked({ id, question, reason }: Finding): string[] {
  return [`${head(id, '')}${question}`, ...wrapped(`${reason ?? 'unknown'}.`)];
}

function verdictOf({ verdict, safe }: Finding): string {
  if (verdict !== 'differs') return verdict;
  return safe === true ? 'differs, safe' : 'BREAKS';
}

function head(id: string, verdict: string): string {
  return `${id.padEnd(ID)}${verdict.padEnd(VERDICT)}`;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && INDENT.length + line.length + word.length + 1 > WIDTH) {
      lines.push(`${INDENT}${line}`);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  if (line !== '') lines.push(`${INDENT}${line}`);
  return lines;
}

function summary(report: ProbeReport): string[] {
  const { findings, sessions, broken } = report;
  const number = (wanted: (finding: Finding) => boolean): number => findings.filter(wanted).length;
  const counts = [
    `${number(({ verdict }) => verdict === 'holds')} hold`,
    `${number(({ verdict, safe }) => verdict === 'differs' && safe === true)} differ without harm`,
    `${broken.length} break something`,
    `${number(({ verdict }) => verdict === 'not_asked')} not asked`,
  ].join(', ');
  const left = sessions.left.map(({ id, why }) => `Left behind: session ${id} (${why})`);
  return [
    `Assumptions: ${counts}.`,
    ...(broken.length === 0 ? [] : [`Holdfast does not work well with this server: ${broken.join(', ')}.`]),
    ...(left.length === 0 && sessions.created > 0
      ? [`${counted(sessions.created, 'session')} deleted.`]
      : left),
  ];
}

/** A number with its noun, such as `1 turn`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
