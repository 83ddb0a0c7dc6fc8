/** `parley doctor`: checks a running server against the production checklist. */
import type { CommandResult } from "../../line/command.ts";
import { Failure } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { asTyped } from "../../terminal/hints.ts";
import { examine, examineWithoutServer } from "./checks.ts";
import { type DirectEvidence, tryDirectly } from "./direct.ts";
import { gatherEvidence } from "./evidence.ts";
import type { Finding, Verdict } from "./findings.ts";

const LABELS: Readonly<Record<Verdict, string>> = {
  ok: "ok",
  attention: "attention",
  serious: "SERIOUS",
  unchecked: "could not check",
};
/** The worst first. */
const ORDER: readonly Verdict[] = ["serious", "attention", "unchecked", "ok"];

export async function doctor(input: Input): Promise<CommandResult> {
  const direct = await tryDirectly(input);
  const { findings: found, node } = await findingsOf(input, direct);
  const findings = found
    .map((finding) => asPasted(finding, input))
    .toSorted((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  const isPassed = findings.every(({ verdict }) => verdict !== "serious");
  return {
    value: { passed: isPassed, node: node ?? null, findings },
    text: `${findings.map(lines).join("")}\n${summary(findings)}\n`,
    notes: node
      ? [`Checked the node ${node.id}, version ${node.version}. If there are several nodes, check each of them.`]
      : [],
    refused: !isPassed,
  };
}

interface Findings {
  readonly findings: readonly Finding[];
  readonly node?: { readonly id: string; readonly version: string } | undefined;
}

async function findingsOf(input: Input, direct: DirectEvidence): Promise<Findings> {
  try {
    const evidence = await gatherEvidence(input, direct);
    const { facts } = evidence;
    return { findings: examine(evidence), node: facts && { id: facts.nodeId, version: facts.version } };
  } catch (error) {
    // Where nothing could be tried from here, the failure itself says all there is.
    const isUnreachable = error instanceof Failure && error.code === "unreachable";
    if (!isUnreachable || Object.keys(direct).length === 0) throw error;
    return { findings: examineWithoutServer(error.message, direct) };
  }
}

/** With commands as the user calls them, in text and in JSON. */
const asPasted = (finding: Finding, { flags }: Input): Finding => ({
  ...finding,
  found: asTyped(finding.found, flags),
  ...(finding.todo !== undefined && { todo: asTyped(finding.todo, flags) }),
});

const WIDTHS = { verdict: 15, check: 18 } as const;

function lines({ verdict, check, found, todo }: Finding): string {
  const head = `${LABELS[verdict].padEnd(WIDTHS.verdict)}  ${check.padEnd(WIDTHS.check)}  `;
  return `${head}${found}\n${todo ? `${" ".repeat(head.length)}-> ${todo}\n` : ""}`;
}

function summary(findings: readonly Finding[]): string {
  const count = (verdict: Verdict): number => findings.filter((one) => one.verdict === verdict).length;
  const rest = `${count("attention")} to review, ${count("unchecked")} to check yourself, ${count("ok")} fine`;
  return count("serious") === 0
    ? `Nothing serious: ${rest}. See docs/production.md.`
    : `${count("serious")} serious, ${rest}. See docs/production.md.`;
}
