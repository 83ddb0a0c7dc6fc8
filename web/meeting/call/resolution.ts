/** How much of a picture is sent: in a mesh every page sends its own to every other one, so more participants get less each. */
interface Tier {
  /** Everyone counts, also oneself. */
  readonly people: number;
  readonly height: number;
  readonly bitsPerSecond: number;
  readonly screenBitsPerSecond: number;
}

const TIERS: readonly Tier[] = [
  { people: 2, height: 720, bitsPerSecond: 1_500_000, screenBitsPerSecond: 2_500_000 },
  { people: 4, height: 360, bitsPerSecond: 500_000, screenBitsPerSecond: 1_200_000 },
  { people: Number.POSITIVE_INFINITY, height: 180, bitsPerSecond: 180_000, screenBitsPerSecond: 700_000 },
];

const tierFor = (people: number): Tier => TIERS.find((tier) => people <= tier.people) as Tier;

export const heightFor = (people: number): number => tierFor(people).height;

export interface Encoding {
  readonly maxBitrate: number;
  readonly scaleResolutionDownBy: number;
}

/** `height`: of the camera's picture as it is captured; 0 if that is not known. */
export const cameraEncoding = (people: number, height: number): Encoding => ({
  maxBitrate: tierFor(people).bitsPerSecond,
  scaleResolutionDownBy: Math.max(1, height / heightFor(people)),
});

/** A screen keeps its size: its text must be readable. */
export const screenEncoding = (people: number): Encoding => ({
  maxBitrate: tierFor(people).screenBitsPerSecond,
  scaleResolutionDownBy: 1,
});
