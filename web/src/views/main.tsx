import { createRoot } from 'react-dom/client';
import { connect } from './host.ts';
import { pictures } from './pictures.tsx';
import { viewNames } from './names.ts';
import { View } from './view.tsx';
import './views.css';

const root = document.getElementById('root');
const name = viewNames.find((one) => one === root?.dataset['view']);

if (root && name) {
  createRoot(root).render(<View picture={pictures[name]} />);
  void connect(root);
}
