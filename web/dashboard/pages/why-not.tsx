import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const WhyNot = (_: { readonly at: PageParameters }) => <Page title="Why not?" />;
