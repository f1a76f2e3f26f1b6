/** The results of a crash matrix as one object, and as a table for people. */
import type { CellResult } from './cell.ts';

export interface MatrixReport {
  /** Places at which a worker was killed. */
  points: number;
  passed: number;
  failed: number;
  /** Calls whose outcome only a person could tell, over all cells. */
  unknown: number;
  self_resolved: number;
  /** From the kill to the next sign of progress in the history. */
  recovery_seconds: { median: number | null; max: number | null };
  cells: CellResult[];
}

export function reportOf(cells: readonly CellResult[]): MatrixReport {
  const recoveries = cells
    .flatMap(({ recovery_seconds }) => recovery_seconds ?? [])
    .toSorted((a, b) => a - b);
  const sum = (field: 'unknown' | 'self_resolved'): number => cells.reduce((n, cell) => n + cell[field], 0);
  return {
    points: new Set(cells.map(({ point }) => point)).size,
    passed: cells.filter(({ passed }) => passed).length,
    failed: cells.filter(({ passed }) => !passed).length,
    unknown: sum('unknown'),
    self_resolved: sum('self_resolved'),
    recovery_seconds: {
      median: recoveries[Math.floor((recoveries.length - 1) / 2)] ?? null,
      max: recoveries.at(-1) ?? null,
    },
    cells: [...cells],
  };
}

/** One row per point, one column per shape; below, what failed and why. */
export function tableOf(report: MatrixReport): string {
  const shapes = [...new Set(report.cells.map(({ shape }) => shape))];
  const points = [...new Set(report.cells.map(({ point }) => point))];
  const rows = [['killed at', ...shapes]];
  for (const point of points) {
    const row = shapes.map((shape) => {
      const cell = report.cells.find((one) => one.point === point && one.shape === shape);
      return cell ? mark(cell) : '';
    });
    rows.push([point, ...row]);
  }
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '));
  const { median, max } = report.recovery_seconds;
  lines.push(
    '',
    `${report.passed} passed, ${report.failed} failed at ${report.points} points.`,
    `Outcomes that only a person could tell (?): ${report.unknown}; told by themselves: ${report.self_resolved}.`,
    `From the kill to the next progress: median ${seconds(median)}, at most ${seconds(max)}.`,
  );
  for (const { point, shape, problems } of report.cells) {
    for (const problem of problems) lines.push(`${point}, ${shape}: ${problem}`);
  }
  return lines.map((line) => line.trimEnd()).join('\n');
}

function mark({ passed, unknown, recovery_seconds }: CellResult): string {
  return `${passed ? 'ok' : 'FAILED'} ${seconds(recovery_seconds)}${unknown > 0 ? ' ?' : ''}`;
}

function seconds(value: number | null): string {
  return value === null ? '-' : `${value.toFixed(1)} s`;
}
