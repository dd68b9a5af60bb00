"""The types in files of fitted models, for formats that load only types that are trusted, such as skops.

Loading one of them runs code of this package alone. A law holds the list equal to what fitted learners,
transformers and synthetic tables consist of.

>>> TRUSTED_TYPES[:2]
['fractions.Fraction', 'dplearn.concepts.base.ChosenConcept']
"""

_TYPES = """
concepts.base.ChosenConcept concepts.corners.Corner concepts.lines.Line concepts.parities.MaskedParity
concepts.parities.Parity concepts.stumps.Stump domains.categories.Bits domains.categories.Categories
domains.categories.Hashed domains.column_kinds.ColumnKinds domains.column_kinds.Learn domains.dates.Dates
domains.numbers.Floats domains.numbers.Grid domains.numbers.IntegerRange domains.numbers.LargeIntegerRange
domains.product.Product domains.schema.Schema estimator.incremental.Calls kernels.intervals.CodePlaces
kernels.points.KeyHash learners.additive.cells.Column learners.additive.estimators.AdditiveClassifier
learners.additive.estimators.AdditiveRegressor learners.additive.estimators.ColumnShape
learners.additive.model.Interactions learners.additive.model.JointFeatures learners.additive.model._Kernels
learners.bins.Bins learners.counts.conjunction.BinConjunction
learners.counts.conjunction.ConjunctionClassifier learners.counts.naive_bayes.StatisticalQueryNaiveBayes
learners.linear.logistic.StatisticalQueryLogisticRegression learners.linear.regression.LinearRegressor
learners.parity.masked.MaskedParityClassifier learners.parity.parity.ParityClassifier
learners.private_labels.PrivateLabelsClassifier
learners.rules.generic.ExponentialMechanismClassifier learners.rules.line.LineClassifier
learners.rules.point.ChosenKeys learners.rules.point.PointClassifier
learners.rules.threshold.CornerClassifier learners.rules.threshold.ThresholdClassifier
learners.several.multi_output.PrivateMultiOutputClassifier
learners.several.secret_sample.SecretSampleClassifier learners.synthetic_data.SyntheticDataClassifier
learners.synthetic_data.SyntheticDataRegressor learners.votes.student.SoftStudent
learners.votes.student._Classifier learners.votes.transfer.KnowledgeTransferClassifier
learners.votes.transfer.SoftLabelTransferClassifier model_selection.search.PrivateSearchCV
model_selection.tuned_threshold.PrivateTunedThresholdClassifier preprocessing.boxed_columns.Box
preprocessing.cells.CellEncoder preprocessing.k_means.PrivateKMeans preprocessing.pca.PrivatePCA
preprocessing.quantile_columns.PrivateKBinsDiscretizer preprocessing.quantile_columns.PrivateMinMaxClipper
preprocessing.quantile_columns.PrivateQuantileTransformer preprocessing.quantile_columns.PrivateRobustScaler
preprocessing.standard_scaler.PrivateStandardScaler privacy.guarantees.ApproxDP
privacy.pipelines._FittedTogether privacy.pipelines._Mark privacy.unrepeatable.Unrepeatable
releases.synthetic_table.ReleasedTable releases.synthetic_table.SyntheticTable
releases.table_columns.TableColumn releases.table_network.NetworkStep
releases.table_network.SyntheticTablePlan releases.table_network.TableBudget
releases.table_network.TableLayout releases.table_network.TableModel releases.table_network.TableNoise
releases.table_types.TableTypes table.encodings.DesignMatrix
"""

#: The names of the types, with those of their modules.
TRUSTED_TYPES: list[str] = ["fractions.Fraction", *(f"dplearn.{name}" for name in _TYPES.split())]
