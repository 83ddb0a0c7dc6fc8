import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Overview = (_: { readonly at: PageParameters }) => <Page title="Overview" />;
