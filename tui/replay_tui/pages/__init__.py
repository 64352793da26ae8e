"""Pages of text, written for a width: what a call, a task, an aligned pair come to in lines."""
