import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Operators = (_: { readonly at: PageParameters }) => <Page title="Operators" />;
