/** uPlot as a file of its own: a fifth of the dashboard, which only the overview needs (live/plots.ts loads it). */
export { default } from "uplot";
