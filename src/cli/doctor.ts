/** `parley doctor`: checks a running server against the production checklist. */
import type { CommandResult } from "./command.ts";
import { examine, type Finding, type Verdict } from "./doctor-checks.ts";
import { gatherEvidence } from "./doctor-evidence.ts";
import type { Input } from "./input.ts";

const LABELS: Readonly<Record<Verdict, string>> = {
  ok: "ok",
  attention: "attention",
  serious: "SERIOUS",
  unchecked: "could not check",
};
/** The worst first. */
const ORDER: readonly Verdict[] = ["serious", "attention", "unchecked", "ok"];

export async function doctor(input: Input): Promise<CommandResult> {
  const evidence = await gatherEvidence(input);
  const findings = examine(evidence).toSorted((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  const serious = findings.filter(({ verdict }) => verdict === "serious").length;
  const node = evidence.facts && { id: evidence.facts.nodeId, version: evidence.facts.version };
  return {
    value: { passed: serious === 0, node: node ?? null, findings },
    text: `${findings.map(lines).join("")}\n${summary(findings)}\n`,
    notes: node
      ? [`Checked the node ${node.id}, version ${node.version}. If there are several nodes, check each of them.`]
      : [],
    refused: serious > 0,
  };
}

const WIDTHS = { verdict: 15, check: 18 } as const;

function lines({ verdict, check, found, todo }: Finding): string {
  const head = `${LABELS[verdict].padEnd(WIDTHS.verdict)}  ${check.padEnd(WIDTHS.check)}  `;
  return `${head}${found}\n${todo ? `${" ".repeat(head.length)}-> ${todo}\n` : ""}`;
}

function summary(findings: readonly Finding[]): string {
  const count = (verdict: Verdict): number => findings.filter((one) => one.verdict === verdict).length;
  const rest = `${count("attention")} to look at, ${count("unchecked")} that only you can check, ${count("ok")} fine`;
  return count("serious") === 0
    ? `Nothing serious: ${rest}. See docs/production.md.`
    : `${count("serious")} serious, ${rest}. See docs/production.md.`;
}
