import { createRoot } from 'react-dom/client';
import { connect } from './host.ts';
import { ViewFrame } from './view.tsx';
import { views } from './views.tsx';
import './views.css';

const root = document.getElementById('root');
const view = Object.entries(views).find(([name]) => name === root?.dataset['view'])?.[1];

if (root && view) {
  createRoot(root).render(<ViewFrame view={view} />);
  void connect(root);
}
