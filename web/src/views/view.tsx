import { ExternalLink } from 'lucide-react';
import { Component, type ReactNode } from 'react';
import { HeadingLevel } from '../components/heading.tsx';
import { isUuid } from '../lib/uuid.ts';
import type { PagePath } from '../paths.ts';
import { openLink, useHostState, type HostState, type ToolResult } from './host.ts';
import { answerOf } from './results.ts';

function Quiet({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="px-4 py-6 text-center text-soft">
      {children}
    </p>
  );
}

interface ViewProps {
  answer: Readonly<Record<string, unknown>>;
}

/** A view of one tool's results. */
export interface View {
  /** Heading for screen readers. */
  readonly title: string;
  /** The page of the deal with the same content. */
  readonly page: PagePath;
  /** Returns the content; null when there is nothing to show. */
  readonly draw: (props: ViewProps) => ReactNode;
  /** The text shown when there is nothing to show. */
  readonly empty: string;
}

/**
 * Returns the URL of the deal's page; null unless both the service's origin and the deal are known. The server writes
 * its origin into the file.
 */
function pageOf(page: PagePath, deal: unknown): string | null {
  const { origin } = document.documentElement.dataset;
  return origin && isUuid(deal) ? `${origin}${page.replace('$dealId', deal)}` : null;
}

function Drawn({ view, result, input }: { view: View; result: ToolResult; input: HostState['input'] }) {
  const { opensLinks } = useHostState();
  const answer = answerOf(result);
  if (result.isError === true) {
    const { message } = answer;
    return <Quiet>{typeof message === 'string' ? message : 'There is no result to show.'}</Quiet>;
  }
  const page = pageOf(view.page, input['deal_id']);
  return (
    <div className="p-4">
      {view.draw({ answer }) ?? <Quiet>{view.empty}</Quiet>}
      {page !== null && opensLinks && (
        <p className="mt-3 text-right">
          <button
            type="button"
            onClick={() => void openLink(page)}
            className="inline-flex items-center gap-1.5 rounded-md px-2 py-1 text-sm text-soft hover:bg-hover hover:text-ink coarse:min-h-11"
          >
            Open in Dealkeep
            <ExternalLink className="size-3.5" aria-hidden />
          </button>
        </p>
      )}
    </div>
  );
}

/**
 * A view with its frame: the message while there is no result or when there is an error, and the link to the deal's
 * page.
 */
export function ViewFrame({ view }: { view: View }) {
  const { input, result, cancelled } = useHostState();
  return (
    <HeadingLevel.Provider value={2}>
      <main>
        <h1 className="sr-only">{view.title}</h1>
        {cancelled ? (
          <Quiet>The call was canceled.</Quiet>
        ) : result === null ? (
          <Quiet>One moment…</Quiet>
        ) : (
          <Guard>
            <Drawn view={view} result={result} input={input} />
          </Guard>
        )}
      </main>
    </HeadingLevel.Provider>
  );
}

/** Catches rendering errors: the rest of the conversation, with the result as text, is not affected. */
class Guard extends Component<{ children: ReactNode }, { failed: boolean }> {
  override readonly state = { failed: false };
  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }
  override render(): ReactNode {
    return this.state.failed ? <Quiet>This result cannot be shown.</Quiet> : this.props.children;
  }
}
