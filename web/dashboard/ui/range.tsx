/** The time that a page's charts show. It is in the address: a link shows the same to a colleague. */
import { parameters, setParameters } from "../address/router.ts";
import { RANGES, type Range } from "../api/types.ts";
import { Segmented } from "./fields.tsx";

export const RANGE_TITLES: Readonly<Record<Range, string>> = { "15m": "15 min", "3h": "3 h", "24h": "24 h" };

const [SHORTEST] = RANGES;

export const chosenRange = (): Range => {
  const text = parameters.value.get("range");
  return RANGES.find((one) => one === text) ?? SHORTEST;
};

/** The parameter as links carry it on; undefined for the usual one. */
const rangeParameter = (range: Range): string | undefined => (range === SHORTEST ? undefined : range);

export const RangeChoice = () => (
  <Segmented
    label="Range"
    value={chosenRange()}
    options={RANGES.map((one) => [one, RANGE_TITLES[one]] as const)}
    onChange={(one) => setParameters({ range: rangeParameter(one) ?? "" })}
  />
);
